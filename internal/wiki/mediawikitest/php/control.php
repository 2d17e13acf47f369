<?php
// What tests do to the wiki: a JSON object with the name of a function below and
// its arguments. The answer is what the function returns, as JSON.

use MediaWiki\Block\Restriction\PageRestriction;
use MediaWiki\MediaWikiServices;
use MediaWiki\Revision\SlotRecord;

class Control {
	private static function services() {
		return MediaWikiServices::getInstance();
	}

	private static function user( string $name ) {
		return User::newFromName( $name ) ?: throw new Exception( "no user $name" );
	}

	private static function admin() {
		return self::user( 'Admin' );
	}

	private static function title( $page ) {
		$title = is_int( $page ) ? Title::newFromID( $page ) : Title::newFromText( $page );
		return $title ?: throw new Exception( "no page $page" );
	}

	private static function check( $status ) {
		if ( !$status->isOK() ) {
			throw new Exception( json_encode( $status->getErrors() ) );
		}
	}

	public static function addUser( string $name, string $password, array $groups ) {
		$user = User::createNew( $name ) ?: throw new Exception( "user $name" );
		self::setPassword( $name, $password );
		foreach ( $groups as $group ) {
			self::services()->getUserGroupManager()->addUserToGroup( $user, $group );
		}
	}

	public static function setPassword( string $name, string $password ) {
		self::check( self::user( $name )->changeAuthenticationData( [ 'username' => $name, 'password' => $password, 'retype' => $password ] ) );
	}

	public static function botPassword( string $name, string $app, array $grants ) {
		$password = BotPassword::generatePassword( self::services()->getMainConfig() );
		$bot = BotPassword::newUnsaved( [ 'username' => $name, 'appId' => $app, 'grants' => $grants ] );
		self::check( $bot->save( 'insert', self::services()->getPasswordFactory()->newFromPlaintext( $password ) ) );
		return $password;
	}

	public static function twoFactor( string $name ) {
		$users = self::services()->getService( 'OATHUserRepository' );
		$user = $users->findByUser( self::user( $name ) );
		$key = MediaWiki\Extension\OATHAuth\Key\TOTPKey::newFromRandom();
		if ( method_exists( $users, 'createKey' ) ) {
			$module = self::services()->getService( 'OATHAuthModuleRegistry' )->getModuleByKey( 'totp' );
			$users->createKey( $user, $module, $key->jsonSerialize(), '127.0.0.1' );
			return;
		}
		// MediaWiki 1.39
		$user->setModule( self::services()->getService( 'OATHAuth' )->getModuleByKey( 'totp' ) );
		$user->setKeys( [ $key ] );
		$users->persist( $user, '127.0.0.1' );
	}

	public static function write( $page, string $text ) {
		$title = self::title( $page );
		$updater = self::services()->getWikiPageFactory()->newFromTitle( $title )->newPageUpdater( self::admin() );
		$updater->setContent( SlotRecord::MAIN, ContentHandler::makeContent( $text, $title ) );
		$updater->saveRevision( CommentStoreComment::newUnsavedComment( '' ) );
		self::check( $updater->getStatus() );
		return $title->getArticleID( IDBAccessObject::READ_LATEST );
	}

	public static function delete( int $page ) {
		$page = self::services()->getWikiPageFactory()->newFromTitle( self::title( $page ) );
		self::check( self::services()->getDeletePageFactory()->newDeletePage( $page, self::admin() )->forceImmediate( true )->deleteUnsafe( '' ) );
	}

	public static function undelete( string $title ) {
		$page = self::services()->getWikiPageFactory()->newFromTitle( self::title( $title ) );
		self::check( self::services()->getUndeletePageFactory()->newUndeletePage( $page, self::admin() )->undeleteUnsafe( '' ) );
		return self::title( $title )->getArticleID( IDBAccessObject::READ_LATEST );
	}

	public static function move( int $page, string $title ) {
		$move = self::services()->getMovePageFactory()->newMovePage( self::title( $page ), self::title( $title ) );
		self::check( $move->move( self::admin(), '', false ) );
	}

	public static function block( string $name, array $pages ) {
		$restrictions = array_map( static fn ( $page ) => new PageRestriction( 0, $page ), $pages );
		$block = self::services()->getBlockUserFactory()->newBlockUser( $name, self::admin(), 'infinity', '',
			[ 'isPartial' => (bool)$pages, 'isAutoblocking' => false, 'isHardBlock' => true, 'isUserTalkEditBlocked' => false ], $restrictions );
		self::check( $block->placeBlockUnsafe( true ) );
	}

	public static function unblock( string $name ) {
		self::check( self::services()->getUnblockUserFactory()->newUnblockUser( $name, self::admin(), '' )->unblockUnsafe() );
	}

	public static function endSessions() {
		$cache = new SQLite3( $GLOBALS['wgSQLiteDataDir'] . '/wikicache.sqlite' );
		$cache->busyTimeout( 10000 );
		$cache->exec( "DELETE FROM objectcache WHERE keyname LIKE '%MWSession%'" );
	}

	public static function ping() {
	}
}

if ( PHP_SAPI === 'cli-server' ) {
	define( 'MEDIAWIKITEST_CONTROL', true );
	define( 'MW_ENTRY_POINT', 'control' );
	chdir( $_SERVER['DOCUMENT_ROOT'] );
	require 'includes/WebStart.php';
	$call = json_decode( file_get_contents( 'php://input' ), true );
	try {
		$answer = Control::{ $call['do'] }( ...$call['with'] );
		MediaWikiServices::getInstance()->getDBLoadBalancerFactory()->commitPrimaryChanges( 'control' );
		DeferredUpdates::doUpdates();
		MediaWikiServices::getInstance()->getDBLoadBalancerFactory()->commitPrimaryChanges( 'control' );
		echo json_encode( [ 'answer' => $answer ] );
	} catch ( Throwable $e ) {
		echo json_encode( [ 'error' => (string)$e ] );
	}
}
